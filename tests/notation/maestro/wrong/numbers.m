num_pes: 4

Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 0, N: 4.5, K: 99999999999999999999 }
    Dataflow {
      SpatialMap(-1,1) M;
      TemporalMap(4x,4) N;
      TemporalMap(SIZE,1) K;
    }
  }
}
