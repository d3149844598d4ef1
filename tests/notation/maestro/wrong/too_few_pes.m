num_pes: 4

Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 8, N: 8, K: 8 }
    Dataflow {
      SpatialMap(1,1) M;
      Cluster(8,P);
      SpatialMap(1,1) K;
    }
  }
}
