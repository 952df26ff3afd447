"""The HTTP API under /api/v1/: bearer tokens, JSON in, JSON out, errors of one shape.

`app` joins it, one module a subject (`logs`, `events`, …); `incoming` reads what is sent, `answers` writes what is
answered, `shapes` says both to OpenAPI.
"""
