package pretrained

import "github.com/residua-go/residua/models"

// Architecture describes a class of models of Hugging Face's transformers that can be read and
// written: the keys of its config.json, and the tensors that correspond to our parameters. The
// function architectures lists those built in, each defined in its own file with its tables.
// models.Zoo.WithKinds adds one from another module, which may bring the Python class itself
// (CodeFile, Code).
type Architecture struct {
	Type     string                                  // model_type
	Class    string                                  // class in transformers, with a language model's head
	Stream   string                                  // kind of the residual stream; "": Check says which
	Keys     string                                  // table of config.json, in the format of configKey; "": Read reads everything
	Defaults string                                  // transformers' defaults for keys missing from config.json, as a JSON object
	Read     func(m *Described, config []byte) error // reads what the table cannot say
	Write    func(models.Spec) map[string]any        // returns the keys and values that Read reads
	Check    func(models.Spec) error                 // says why the class cannot compute a model, beyond what Keys and Read say; nil: it can compute all
	GGUF     *GGUFForm                               // nil: llama.cpp does not support it
	// ZeroBiases says that the class always has biases. For a model without biases they are
	// written as zeros.
	ZeroBiases     bool
	GainsLess1     bool               // files hold the gains of norms less 1 (GGUF files hold them as they are)
	SwapHalves     bool               // files hold heads of queries and keys with their halves swapped
	Gains          map[string]float32 // gains that files lack: their values, by the last part of the parameters' names; nil: none
	CodeFile, Code string             // for a class that transformers does not have: the name of its Python file, modeling_NAME.py, and the file's text
	VocabFiles     bool               // a folder may have vocab.json and merges.txt instead of a tokenizer.json
	Tokenizers     map[int]string     // our tokenizers by size of the vocabulary, for folders without a tokenizer

	Prefix  string   // prefix of the names of all tensors but the head's; files without a head lack the prefix
	Head    string   // name of the unembedding's tensor [V, D]; files of a model with tied embeddings may lack it
	Unused  []string // suffixes of the names of tensors that some files hold but that are not parameters
	Tensors string   // table of a layout, in the format of row; "": files hold our parameters unchanged

	sizes map[byte]int // sizes of the table's axes that not every model has
}

// Name returns the model_type in config.json.
func (a Architecture) Name() string { return a.Type }

// architectures lists the architectures that can be read and written, ours first.
func architectures(zoo models.Zoo) []Architecture {
	return append([]Architecture{gpt2(), llama(), qwen3(), mistral(), qwen2(), gptNeoX(), gemma2(), gemma3(), olmo2(), smolLM3(), granite(), phi3(),
		nanoChat(), residua()}, models.KindsOf[Architecture](zoo)...)
}

// ArchitectureNames returns the names of the Hugging Face architectures that can be read and
// written.
func ArchitectureNames(zoo models.Zoo) []string {
	return models.NamesOf(architectures(zoo))
}
