"""In: batches of prompts.
Out: token ids arranged in rows, planned in this process or in several; no torch.
"""
