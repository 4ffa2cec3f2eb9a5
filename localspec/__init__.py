"""localspec: chat with a large model on one's own laptop, faster and exactly, by speculative decoding."""

__version__ = "0.1.0"
