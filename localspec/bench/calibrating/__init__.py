"""What `localspec calibrate` tells."""
