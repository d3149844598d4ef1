num_pes: 64
noc_bandwidth: 16
