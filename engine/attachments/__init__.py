"""Images and PDFs that go with an input: checked before anything is stored, made whole again for a model."""
