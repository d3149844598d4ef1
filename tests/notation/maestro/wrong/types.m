num_pes: 4
Network net {
  Layer L1 {
    Type: FC
    Dimensions { K: 4, C: 4 }
    Dataflow { SpatialMap(1,1) K; }
  }
  Layer L2 {
    Type: DSCON
    Dimensions { C: 4 }
    Dataflow { SpatialMap(1,1) C; }
  }
}
