"""Adapters that let agent frameworks keep their memory in Satchel.

Each module needs its framework and imports no other: langgraph, openai_agents, llamaindex, adk.
"""
