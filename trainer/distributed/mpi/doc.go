// Package mpi is the distributed.Transport of MPI. It loads an MPI library when the program runs,
// so that one binary works with MPICH, Open MPI and every library of MPI 5's standard ABI, and
// neither a C compiler nor MPI is needed to build it: go build -tags mpi.
package mpi
