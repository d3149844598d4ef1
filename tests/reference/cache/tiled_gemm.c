/* C += A * B on doubles in square tiles, the nest of tiled_gemm.yaml in plain C. Its last-level read misses under
 * a simulated cache are compared with einflow's counts. Compile with -O1: registers must not hide loads. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void gemm(int n, int t, const double *a, const double *b, double *c) {
  for (int ii = 0; ii < n; ii += t)
    for (int jj = 0; jj < n; jj += t)
      for (int kk = 0; kk < n; kk += t)
        for (int i = ii; i < ii + t; ++i)
          for (int j = jj; j < jj + t; ++j) {
            double sum = c[i * n + j];
            for (int k = kk; k < kk + t; ++k) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
          }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 192;
  const int t = argc > 2 ? atoi(argv[2]) : 16;
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  double *a = aligned_alloc(4096, bytes), *b = aligned_alloc(4096, bytes), *c = aligned_alloc(4096, bytes);
  /* A large sweep between the start and the product leaves nothing of the matrices in the cache. */
  const size_t sweep = 8u << 20;
  volatile char *cold = malloc(sweep);
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) {
    a[i] = (double)(i % 7);
    b[i] = (double)(i % 5);
    c[i] = 0;
  }
  for (size_t i = 0; i < sweep; i += 64) cold[i] = 1;
  gemm(n, t, a, b, c);
  double sum = 0;
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) sum += c[i];
  printf("%.0f\n", sum);
  return 0;
}
