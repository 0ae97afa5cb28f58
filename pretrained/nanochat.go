package pretrained

import (
	"strings"

	"github.com/residua-go/residua/models"
)

// nanoChat is nanochat's model of October 2025 (Karpathy 2025), as transformers has it: a vector
// stream whose embedding is divided by its root mean square, with norms without gains, squared
// ReLUs and norms of queries and keys after rotary positions, which turn the other way round: heads
// of queries and keys have their halves swapped.
func nanoChat() Architecture {
	return Architecture{
		Type: "nanochat", Class: "NanoChatForCausalLM", Stream: vectorStream(), Read: readNanoChat, Write: writeNanoChat,
		Keys: strings.ReplaceAll(llamaSizes, `hidden_act                                    = "silu" gated layers of other activations are not built`,
			"hidden_act = \"relu2\" other activations are not built\nfinal_logit_softcapping logit_softcap") + noBiases,
		Defaults: `{"vocab_size": 50304, "max_position_embeddings": 2048, "hidden_size": 768, "intermediate_size": 8192, "num_hidden_layers": 12,
			"num_attention_heads": 6, "rms_norm_eps": 1e-6, "final_logit_softcapping": 15.0, "hidden_act": "relu2"}`,
		Tensors: nanoChatTensors, Prefix: "model.", Head: "lm_head.weight", SwapHalves: true,
		Gains: map[string]float32{"norm": 1, "q_norm": 1, "k_norm": 1},
	}
}

func readNanoChat(m *Described, text []byte) error {
	sized := models.FirstNanoChat(1, m.Width, m.Hidden, 1)
	m.Norm, m.FeedForward, m.Stream, m.Attention.QKNorm = sized.Norm, sized.FeedForward, sized.Stream, true
	return addRope(&m.Attention, text)
}

// writeNanoChat writes what the table does not.
func writeNanoChat(spec models.Spec) map[string]any {
	config := writeLlama(spec)
	config["hidden_act"], config["final_logit_softcapping"] = "relu2", orNull(spec.LogitSoftcap)
	return config
}

// nanoChatTensors is the table of tensors.
const nanoChatTensors = `embedding               VD  embed_tokens.weight              VD
unembedding             DV  lm_head.weight                   VD
blocks.%d.attention.qkv DQ  layers.%d.self_attn.q_proj.weight QD
blocks.%d.attention.qkv DK  layers.%d.self_attn.k_proj.weight KD
blocks.%d.attention.qkv DW  layers.%d.self_attn.v_proj.weight WD
blocks.%d.attention.o   QD  layers.%d.self_attn.o_proj.weight DQ
blocks.%d.feedforward.w1 DF layers.%d.mlp.fc1.weight         FD
blocks.%d.feedforward.w2 FD layers.%d.mlp.fc2.weight         DF
`
