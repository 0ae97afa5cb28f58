// Package checkpoint keeps trained weights and training state on disk.
//
// It treats tensors by name and knows nothing about models: a tensor is a name, a shape and a flat
// row-major slice. The package has three layers, each usable by itself:
//
//   - safetensors files: [WriteTensors] and [ReadTensors] write and read any file of that format;
//   - model files: [WriteModel] and [ReadModel] add the model's configuration, a format version and
//     a digest, so that one file is enough to rebuild a model and to notice damage;
//   - step folders: [Disk.Save] and [Load] keep a model, its optimizer and the state of the run
//     together; [Latest], [Best], [Disk.Prune] and [Resolve] find and thin them; [Disk.Amend] adds
//     to a step what becomes known later, [Disk.Clean] removes what a killed process left; [Lock]
//     keeps two trainers from using one run folder, and [CheckVersions] keeps older programs from
//     opening a folder that a newer one wrote.
//
// A run folder as this package sees it:
//
//	runs/NAME/.lock                                          held by the process that trains here
//	runs/NAME/latest.json                                    the step folder to resume from
//	runs/NAME/best.json                                      the step folder with the best validation loss
//	runs/NAME/checkpoints/step-00000500/model.safetensors
//	runs/NAME/checkpoints/step-00000500/optimizer.safetensors
//	runs/NAME/checkpoints/step-00000500/state.json
//	runs/NAME/checkpoints/log-512/model.safetensors          weights alone, see [LogPath]
//	runs/NAME/checkpoints/log-512/state.json
//
// Every file is written under a temporary name in its own folder, flushed to the device and
// renamed, so that a process killed at any moment leaves the previous checkpoint usable. Readers
// copy everything into memory of their own: no file stays open or mapped, and nothing needs
// closing. All writing goes through a [Disk], whose steps a test can make fail one by one.
package checkpoint
