num_pes: 4

Network net {
  Layer L1 {
    Type: GEMM
    Dimensions { M: 8, N: 8, K: 8 }
    Dataflow {
      SpatialMap(1,1) M;
      Cluster(1,P);
      SpatialMap(1,1) N;
      Cluster(1,P);
      SpatialMap(1,1) N;
      Cluster(1,P);
      SpatialMap(1,1) N;
      Cluster(1,P);
      SpatialMap(1,1) N;
    }
  }
}
