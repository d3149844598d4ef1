Network net {
  Layer L1 {
    Type: CONV
    Dimensions { K: 4, C: 4, R: 3, S: 3, Y: 8, X: 8 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(3,3) Y;
    }
  }
}
