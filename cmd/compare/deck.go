package main

// card is what is written by hand about a stream.
type card struct {
	name     string   // of the curve's file
	zoo      []string // names in docs/zoo.json
	title    string
	config   string // file name below -configs
	equation string // of one token; lines
	source   string
	use      string // what it is good for, and what to look out for
}

// plain is the card that all others are held against.
const plain = "vector"

// deck lists the cards in reading order. Symbols: F is a sublayer with its norm, D the
// width, L the blocks; h, H [n, D] and X are a token's state.
func deck() []card {
	return append(basicCards(), append(rowCards(), sublayerCards()...)...)
}

func basicCards() []card {
	return []card{
		{plain, []string{plain}, "Transformer", "quickstart-transformer.yaml",
			"h <- h + F(h)\nlogits = Norm(h) W_U",
			"Radford et al. 2019 (GPT-2): pre-norm blocks, output projections started at 1/sqrt(2L)",
			"The baseline: one vector a token that every sublayer adds to. Fewest moving parts, most known about it, and every rate and size rule of the literature applies. To carry more it has to grow in width, and everything else grows with that."},
		{"matrix", []string{"rmt"}, "Residual Matrix Transformer", "quickstart.yaml",
			"q, k, v = r_QKV Norm(X);   X <- X + sum_h w_O[h] (x) o_h\nu = r_FF Norm(X);          X <- X + sum_h w_FF[h] (x) y_h\nlogits = W_U vec(r_U Norm(X))          X is Dk x Dv",
			"Mak and Flanigan 2025, arXiv 2506.22696, eq. 18-27",
			"A stream that grows without the sublayers: key vectors store and retrieve rows of Dv, in the place of W_QKV and W_O, so that a row of the stream costs about 3 R (2L+1) parameters and little work. Best where parameters or FLOPs are short. It wants a higher rate than the transformer, and its state, Dk*Dv a token, is memory traffic at every site."},
	}
}

func rowCards() []card {
	return []card{
		{"hyper-static", []string{"hyper-static"}, "Hyper-connections, static", "hyper-static.yaml",
			"u = A_m^T H;   H <- B^T F(u) + A_r^T H\nlogits = Norm(sum of rows) W_U          H is n x D, A_m, A_r and B learned",
			"Zhu et al. 2024, arXiv 2409.19606, eq. 2",
			"n copies of the stream, read, written and mixed with n(n+2) numbers a site: each site learns how much of which depth it wants. Almost free in parameters, n times the stream in memory. With n = 1 it is worse than the baseline."},
		{"hyper-dynamic", []string{"hyper-dynamic"}, "Hyper-connections, dynamic", "hyper-dynamic.yaml",
			"A_m += s_a tanh(Hn W_m);   A_r += s_a tanh(Hn W_r);   B += s_b tanh(Hn W_b)^T\nu = A_m^T H;   H <- B^T F(u) + A_r^T H          Hn: rows of H, normalised",
			"Zhu et al. 2024, arXiv 2409.19606, eq. 10-13",
			"As static, with mixing that depends on the token. The paper's stronger form. A_r has no bound: over many blocks the product of mixings can grow (by about 3000 in a 27B model, as arXiv 2512.24880 reports)."},
		{"mhc", []string{"mhc"}, "Manifold-constrained hyper-connections", "mhc.yaml",
			"z = alpha (x phi) + b,   x = vec(X)/rms(vec X)\npre = sigmoid(z_pre);   post = 2 sigmoid(z_post);   H_res = Sinkhorn(exp(z_res))\nX <- H_res X + post^T F(pre . X)",
			"DeepSeek 2025, arXiv 2512.24880",
			"Hyper-connections for depth: H_res is doubly stochastic, so that products of mixings stay doubly stochastic and no signal is amplified on its way. Costs 20 Sinkhorn iterations on n x n numbers a token and site. The source leaves its start open; ours has H_res at the identity to 0.1%."},
		{"mhc-lite", []string{"mhc-lite"}, "mHC-lite", "mhc-lite.yaml",
			"a = softmax(alpha_res (x phi_res) + b_res);   H_res = sum_r a_r P_r\nthe rest as mHC          P_r: the n! permutations",
			"arXiv 2601.05732",
			"mHC without iterations: a mixture of permutations is doubly stochastic to rounding. Simpler and exact, but phi has n! columns: n is 4 at most."},
		{"vwn", []string{"vwn-2x3", "vwn-8x64"}, "Virtual width network", "vwn.yaml",
			"[A_down | A_carry | B'] = static + S o tanh(Hn [W_a | W_b] / sqrt(d))\nu = A_down^T H;   H <- B' F(u) + A_carry^T H\nlogits = Norm(GroupNorm(H) W_reduce) W_U          H is n x d, d = D/m",
			"ByteDance 2025, virtual width networks",
			"A stream, and an embedding, n/m times as wide as what the sublayers work on: width of representation for a small share of the FLOPs. With a large vocabulary most of what it adds in parameters is the wider embedding, unless expand_embedding makes it from one of D entries. No group norm where n/m is not whole."},
	}
}

func sublayerCards() []card {
	return []card{
		{"highway", []string{"highway"}, "Highway Transformer", "highway.yaml",
			"h <- h + F(h) + SDU(Norm(h));   SDU(x) = sigmoid(W1 x) o (W2 x)",
			"Chai et al. 2020, ACL: self-dependency units",
			"A gated look of each token at itself beside every sublayer, 4 D^2 parameters a block more. Its authors report faster convergence. What it adds is ordinary matrix products, so that it runs at full speed."},
		{"hieragg", []string{"hieragg"}, "Hierarchical aggregation", "hieragg.yaml",
			"h <- Norm(sigmoid([x; y; z] W1) W2 + x + y + z)          behind every second block",
			"Dou et al. 2018, EMNLP",
			"A network joins the outputs x and y of two blocks with their input z and replaces the stream. Made for translation, where it brings low layers' features to the output. Layers come in pairs. One aggregate is shared by all pairs, which matches the size that the RMT paper prints, not the source: see hieragg-dou."},
		{"dwlstm", []string{"dwlstm"}, "Depth-wise LSTM", "dwlstm.yaml",
			"s = [MHA(h); h];   i, f, o = sigmoid(Norm(s W) + b);   g = W2 gelu(Norm(s W1))\nc <- f o c + i o g;   h <- o o c",
			"Xu et al. 2024, LREC-COLING; the cell's details reconstructed from its abstract and the printed size",
			"Depth as an LSTM's time, in the place of residual connections and feed-forwards: gates decide what a block forgets. Its authors find deep models to converge. It adds 10 D^2 parameters a block, and leaves no path through the model that nothing multiplies."},
		{"moe", []string{"moe-8x2"}, "Mixture of experts", "moe.yaml",
			"p = softmax(W_r u);   T = the k largest;   g_i = p_i / sum of p over T\ny = sum over i in T of g_i E_i(u);   loss += 0.01 E sum_i f_i P_i",
			"Shazeer et al. 2017, arXiv 1701.06538; gates as in Jiang et al. 2024, arXiv 2401.04088; balance as in Fedus et al. 2021",
			"Not a stream but a feed-forward, on any of them: E experts of which a token uses k. Parameters without FLOPs, for when memory is cheaper than arithmetic. No token is dropped; the balance loss keeps experts in use."},
	}
}
