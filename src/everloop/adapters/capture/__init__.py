"""Sources that lessons are captured from: notes and transcripts on this machine."""
