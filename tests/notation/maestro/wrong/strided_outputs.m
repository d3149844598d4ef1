num_pes: 4

Network net {
  Layer L1 {
    Type: CONV
    Stride { Y: 2, X: 2 }
    Dimensions { K: 4, C: 4, R: 3, S: 3, Y: 17, X: 17 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(2,2) Y';
    }
  }
}
