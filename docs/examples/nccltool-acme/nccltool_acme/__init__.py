"""What our site adds to nccltool."""
