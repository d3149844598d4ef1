// A matrix product on 16 PEs, 4 clusters of 4: rows of the output over the
// clusters, columns over the PEs of a cluster. K is the innermost loop, so a
// PE keeps its partial sum.
Constant SIZE 16;
Network gemm {
  Layer OS {
    Type: GEMM
    Dimensions { M: SIZE, N: SIZE, K: SIZE }
    Dataflow {
      SpatialMap(1,1) M;
      TemporalMap(4,4) N;
      TemporalMap(1,1) K;
      Cluster(4, P);
      SpatialMap(1,1) N;
    }
  }
}
