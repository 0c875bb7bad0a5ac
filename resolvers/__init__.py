"""What each operation does: check who asks, call one thing, hand it on."""
