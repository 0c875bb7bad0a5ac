"""Logs with cursors, their replay from rows, and the bell."""
