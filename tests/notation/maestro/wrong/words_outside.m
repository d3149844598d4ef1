Accelerator {
  PE { NumPEs: 4 }
}
Network net {
}
