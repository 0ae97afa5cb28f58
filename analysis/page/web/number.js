// Numbers: texts of values, round numbers along an axis.

const finite = (v) => typeof v === "number" && Number.isFinite(v);

// number formats a value with the given number of significant digits, or all digits before the point if these are more.
function number(v, digits = 4) {
  if (!finite(v)) return "none";
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    return v.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(size >= 10 ** digits ? Math.round(v) : Number(v.toPrecision(digits)));
}

// extent is the smallest and the largest finite value, [Infinity, -Infinity] without any.
function extent(rows) {
  let low = Infinity, high = -Infinity;
  for (const row of rows) {
    for (const v of row) {
      if (!finite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return [low, high];
}

// ticks returns roughly the given number of round numbers in [low, high]: multiples of 1, 2 or 5 times a
// power of ten.
function ticks(low, high, about) {
  if (!(high > low)) return [{ value: low, label: number(low) }];
  const rough = (high / 2 - low / 2) / about * 2;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((f) => f * power >= rough * (1 - 1e-9)) || 10);
  const at = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let i = 0; i <= 2 * about + 2; i++) {
    const value = (first + i) * step + 0;
    if (!(value <= high + 1e-9 * step)) break;
    at.push({ value, label: multiple(value, step, Math.max(Math.abs(low), Math.abs(high))) });
  }
  return at;
}

// multiple formats a multiple of step with enough digits to tell multiples of up to largest apart.
function multiple(v, step, largest) {
  const power = Math.floor(Math.log10(step) + 1e-9);
  if (largest < 1e6 && power >= -4) return v.toFixed(Math.max(0, -power));
  return number(v, Math.max(1, Math.min(15, Math.ceil(Math.log10(largest)) - power + 1)));
}

// logTicks are numbers along a logarithmic axis: powers of ten, thinned where there are many, with
// numbers between where there are few.
function logTicks(low, high, about) {
  for (const factors of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]) {
    const at = powers(low, high, factors, 1);
    if (at.length >= 3) return powers(low, high, factors, Math.ceil(at.length / about));
  }
  return ticks(low, high, about);
}

// powers returns the numbers in [low, high] that are a factor times a power of ten whose exponent every divides.
function powers(low, high, factors, every) {
  const at = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every !== 0) continue;
    for (const f of factors) {
      const value = f * 10 ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) at.push({ value, label: number(value, 6) });
    }
  }
  return at;
}
