"""Where attachments' files are kept: a folder, or a bucket that speaks S3. A file's name is its content's hash."""
