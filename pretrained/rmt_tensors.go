package pretrained

// rmtTensors is the table of the tensors of an RMT in its authors' code. Layers are stacked;
// states are [Dv, Dk] and features [Dv, R], where ours are [Dk, Dv] and [R, Dv].
const rmtTensors = `embedding                   VRv  embedding.param                                                VvR
write_embedding             Rk   storage_linear.param                                           Rk
norm                        kv   norm.param                                                     vk
read_unembedding            Rk   retrieval_linear.param                                         kR
unembedding                 RvV  unembedding.param                                              vRV
blocks.%d.attention.norm    kv   rmt_stack.stacked.attention.module.norm.param                  Lvk
blocks.%d.attention.read    3Rk  rmt_stack.stacked.attention.module.qkv_linear.param            Lk3R
blocks.%d.attention.write   Rk   rmt_stack.stacked.attention.module.out_linear.param            LRk
blocks.%d.feedforward.norm  kv   rmt_stack.stacked.mlp.module.norm.param                        Lvk
blocks.%d.feedforward.read  Rk   rmt_stack.stacked.mlp.module.retrieval_linear.param            LkR
blocks.%d.feedforward.w1    RvF  rmt_stack.stacked.mlp.module.W1.param                          LvRF
blocks.%d.feedforward.w2    FRv  rmt_stack.stacked.mlp.module.W2.param                          LFvR
blocks.%d.feedforward.write Rk   rmt_stack.stacked.mlp.module.storage_linear.param              LRk`

// rmtTransformerTensors is the table for the transformer in the same code.
const rmtTransformerTensors = `embedding                  VD   embedding.param                                          VD
norm                       D    norm.param                                               D
unembedding                DV   unembedding.param                                        DV
blocks.%d.attention.norm   D    transformer_stack.stacked.attention.module.norm.param        LD
blocks.%d.attention.qkv    D3Hh transformer_stack.stacked.attention.module.qkv_linear.param  LD3Hh
blocks.%d.attention.o      HhD  transformer_stack.stacked.attention.module.out_linear.param  LHhD
blocks.%d.feedforward.norm D    transformer_stack.stacked.mlp.module.norm.param              LD
blocks.%d.feedforward.w1   DF   transformer_stack.stacked.mlp.module.W1.param                LDF
blocks.%d.feedforward.w2   FD   transformer_stack.stacked.mlp.module.W2.param                LFD`

// architecture returns the authors' architecture that a description names.
func (d rmtDescription) architecture() Architecture {
	a := Architecture{Type: d.Kind, Tensors: rmtTransformerTensors, sizes: map[byte]int{'R': d.Config.Rank, 'k': d.Config.Dk, 'v': d.Config.Dv}}
	if d.Kind == kindRMT {
		a.Tensors = rmtTensors
	}
	return a
}
