num_pes: 4

Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 8, N: 8, K: 8 }
    Dataflow {
      SpatialMap(1,1) M;
      SpatialMap(1,1) N;
      SpatialMap(1,1) K;
    }
  }
}
