"""Thin typed ownership over llama.cpp: the only folder that imports the bindings."""
