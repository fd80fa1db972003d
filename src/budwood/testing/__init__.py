"""What we ship for those who write a backend of their own: conformance suites and samples. Import the module you need.

Knows contracts; must not know the backends that are tested with it.
"""
