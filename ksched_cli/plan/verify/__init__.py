"""The modelled scheduler held against what the scheduler of a cluster did."""
