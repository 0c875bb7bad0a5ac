"""The durable verbs: every change of a run is one of these, one transaction, guarded by status and fence.

Each takes the connection first and everything else by name; times are ms since the epoch, ids come from `ids`. What a
verb gives back (`Done`) carries the run as it now is, and the lasting events to publish after the commit.
"""
