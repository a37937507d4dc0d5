"""A pytest plugin that treats the evaluation cases of a RAG chatbot as tests."""

__version__ = "0.1.0"
