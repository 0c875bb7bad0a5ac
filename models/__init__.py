"""What is remembered: tables, the durable verbs, events, migrations."""
