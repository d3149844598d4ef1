// Row stationary: an output row a cluster, a filter row a PE. Unit u of a
// cluster holds row u of the filter and row u of the tile's rows of the input.
Network rows {
  Layer RS {
    Type: CONV
    Dimensions { K: 4, C: 2, R: 3, S: 3, Y: 8, X: 8 }
    Dataflow {
      SpatialMap(Sz(R),1) Y;
      TemporalMap(1,1) K;
      TemporalMap(1,1) C;
      TemporalMap(Sz(R),Sz(R)) R;
      TemporalMap(Sz(S),Sz(S)) S;
      TemporalMap(Sz(S),1) X;
      Cluster(Sz(R), P);
      SpatialMap(1,1) Y;
      SpatialMap(1,1) R;
    }
  }
}
