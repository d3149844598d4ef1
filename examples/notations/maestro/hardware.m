num_pes: 18
noc_bw_cstr: 16
l1_size_cstr: 64
