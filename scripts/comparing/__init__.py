"""`compare_llama_server.py`, step by step: the server, the arms, the run, the figures."""
