"""In: prompts, and the address of a server that speaks OpenAI's protocol.
Out: scores by the best method that the server supports; `http_client.py` is the only file that imports httpx.
"""
