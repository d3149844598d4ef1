num_pes: 4

Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 8, N: 8, K: 8 }
    Dataflow {
      SpatialMap(2,1) M;
      TemporalMap(1,1) K;
    }
  }
}
