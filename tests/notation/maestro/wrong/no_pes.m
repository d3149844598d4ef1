Network net {
  Layer L1 {
    Type: CONV
    Dimensions { K: 4, C: 4, R: 3, S: 3, Y: 8, X: 8 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(1,1) C;
      TemporalMap(3,3) R;
      TemporalMap(3,3) S;
      TemporalMap(3,1) Y;
      TemporalMap(3,1) X;
    }
  }
}
