num_pes: 4

Network net {
  Layer L1 {
    Type: CONV
    Dimensions { K: 4, C: 4, R: 3, S: 3, Y: 8, X: 8 }
    Dataflow {
      SpatialMap(4,2) Y;
      Cluster(3,P);
      SpatialMap(1,1) Y;
      SpatialMap(1,1) R;
    }
  }
}
