package pretrained

import "github.com/residua-go/residua/models"

// Architecture is a class of models of Hugging Face's transformers that can be read and written: what its config.json
// says, and which of its tensors our parameters are made of. Ours are in architectures, each in a file with its tables;
// models.Zoo.WithKinds adds one of another module, which may bring the class itself (CodeFile, Code).
type Architecture struct {
	Type     string                                  // model_type
	Class    string                                  // of transformers, with a language model's head
	Stream   string                                  // kind of the residual stream; "": Check says which
	Keys     string                                  // the table of config.json, whose rows are described at configKey; "": Read reads all
	Defaults string                                  // transformers' own of what a config.json leaves out, as a JSON object
	Read     func(m *Described, config []byte) error // reads what a config.json says beyond the table
	Write    func(models.Spec) map[string]any        // returns the keys and values that Read reads
	Check    func(models.Spec) error                 // whether the class computes a model, beyond what config.json can say; nil: it does
	GGUF     *GGUFForm                               // nil: llama.cpp does not have it
	// ZeroBiases: biases belong to it, and are written as zeros for a model that has none.
	ZeroBiases     bool
	CodeFile, Code string         // the class itself, where transformers does not have it: modeling_NAME.py and its text
	Tokenizers     map[int]string // ours by the size of the vocabulary, for folders without a tokenizer.json

	Prefix  string   // of all tensors but the head, in files of the model with a head; those of the model without have none
	Head    string   // the unembedding [V, D]; where it is tied, files may leave it out
	Unused  []string // ends of the names of tensors that some files hold and that are no parameters
	Tensors string   // the table of a layout, whose rows are described at row; "": files have our parameters as they are

	sizes map[byte]int // of the table's axes that not every model has
}

// Name is the model_type of its config.json.
func (a Architecture) Name() string { return a.Type }

// architectures lists those that can be read and written, ours first.
func architectures(zoo models.Zoo) []Architecture {
	return append([]Architecture{gpt2(), llama(), qwen3(), mistral(), residua()}, models.KindsOf[Architecture](zoo)...)
}

// ArchitectureNames are the names of Hugging Face's architectures that are read and written.
func ArchitectureNames(zoo models.Zoo) []string {
	return models.NamesOf(architectures(zoo))
}
