num_pes: 4
Network net {
  Layer L1 {
    Dimensions { M: 4 }
    Dataflow { SpatialMap(1,1) M; }
  }
  Layer L2 {
    Type: GEMM
    Dimensions { M: 4, N: 4, K: 4 }
  }
  Layer L3 {
    Type: CONV
    Dimensions { K: 4, C: 4, R: 3, Y: 8 }
    Dataflow { SpatialMap(1,1) K; }
  }
}
