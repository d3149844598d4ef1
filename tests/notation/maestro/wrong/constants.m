num_pes: 4
Constant A 4;
Constant B A;
Constant A 5;
Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: A, N: 8, K: 8 }
    Dataflow {
      SpatialMap(A,A) M;
      TemporalMap(AA,1) K;
    }
  }
}
