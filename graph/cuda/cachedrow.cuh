// What a row of a run stands for in the caches of all layers: kernel.CachedRow.
#pragma once

// CachedRow: a row of the caches that has had the tokens before position `past`, as many new ones, and the half of what is carried
// from run to run that is read (the other one is written).
struct CachedRow {
  int row, past, tokens, turn;
};
