"""Where the variants of a sweep are run: in this process, on all cores, on Dask."""
