// Package theory computes what the paper of the Residual Matrix Transformer derives and counts (Mak
// & Flanigan 2025, arXiv 2506.22696): how means and variances pass through retrieve and store
// (Tables 1 and 2), parameters and FLOPs (Table 7), their growth with the residual stream (figure
// 1), the FLOPs of its training runs (Tables 3 and 4) and the shapes of its models (Table 9). Where
// print and arithmetic differ, both are given: "paper" is quoted as printed, everything else is
// computed from the inputs.
//
// [All] computes every result.
package theory
