package trainer

import (
	"encoding/json"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// SaveModel writes a model to one file, which OpenModel and every command read: the
// parameters of d.Model in a Store, and what they are the parameters of.
//
//	d := trainer.Description{Model: model.Spec()}
//	d.Data.Tokenizer = "bytes"
//	err := trainer.SaveModel("model.safetensors", store, d)
//
// d.Data.Tokenizer names the tokenizer (data.NewTokenizer) that the model reads text by;
// "" means it takes token ids alone. The rest of d.Data, which may be left out, says where
// the validation split is found. The file is replaced whole or, with an error, not at all.
func SaveModel(path string, store *graph.Store, d Description) error {
	if err := d.check(store); err != nil {
		return errors.Wrapf(err, "%s: cannot save the model", path)
	}
	metadata, err := d.metadata()
	if err != nil {
		return err
	}
	if err := store.ToHost(); err != nil {
		return err
	}
	return checkpoint.WriteModel(path, values(store), metadata)
}

// Save writes the model to another file, as SaveModel does.
func (p *Pretrained) Save(path string) error { return SaveModel(path, p.Store, p.Description) }

// Tokenizer returns the tokenizer that the model reads text by; a model that has none, but
// takes token ids alone, is an error.
func (d Description) Tokenizer() (data.Tokenizer, error) {
	if d.Data.Tokenizer == "" {
		return nil, errors.Errorf("the model has no tokenizer: want token ids, each below %d, in the place of text", d.Model.Vocab)
	}
	return data.NewTokenizer(d.Data.Tokenizer)
}

// metadata is the description as a model file carries it.
func (d Description) metadata() (map[string]string, error) {
	text, err := json.Marshal(d)
	return map[string]string{checkpoint.MetadataConfig: string(text)}, errors.WithStack(err)
}

// check refuses what OpenModel could not read back.
func (d Description) check(store *graph.Store) error {
	if d.Model.IsZero() {
		return errors.New("want a description with the model's Spec, got one without: models.Model.Spec returns it")
	}
	if d.Data.Tokenizer != "" {
		t, err := d.Tokenizer()
		if err != nil {
			return err
		}
		if t.Vocab() > d.Model.Vocab {
			return errors.Errorf("tokenizer %s has %d ids, the model's vocabulary %d: want the tokenizer that the model was trained with", t.Name(), t.Vocab(), d.Model.Vocab)
		}
	}
	switch {
	case store == nil || len(store.Params()) == 0:
		return errors.New("want a store with the model's parameters, got an empty one")
	case store.DType() != tensor.Float32:
		return errors.Errorf("want a store of float32, got %v", store.DType())
	}
	return d.holds(store)
}

// holds checks that a Store has the model's parameters and no others.
func (d Description) holds(store *graph.Store) error {
	if want, got := d.Model.Cost().Parameters, store.Size(); want != got {
		return errors.Errorf("the model has %d parameters, the store %d: it is of another model", want, got)
	}
	parameters := len(store.Params())
	if _, err := models.New(gorgonia.NewGraph(), d.Model, models.WithStore(store)); err != nil {
		return err
	}
	if made := len(store.Params()) - parameters; made > 0 {
		return errors.Errorf("the store lacks %d of the model's parameters: it is of another model", made)
	}
	return nil
}
