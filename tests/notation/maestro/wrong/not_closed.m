num_pes: 4
Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 4, N: 4, K: 4 }
    Dataflow { SpatialMap(1,1) M;
