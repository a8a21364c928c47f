"""PyTorch's usual step of training of transformers' own model: backward, clipping, fused AdamW."""

import torch
import transformers

RATE, CLIP = 5e-5, 1.0  # as our program has them; the rest of AdamW is PyTorch's default in both


def load(setup, compiled=lambda model: model, device="cpu"):
    """`compiled`: makes of the model what trains; `device`: where."""
    torch.set_num_threads(setup.threads)
    torch.set_num_interop_threads(1)
    config = transformers.AutoConfig.from_pretrained(setup.checkpoint, attn_implementation="sdpa")
    config.use_cache = False  # keys and values that only generation reads
    plain = getattr(transformers, config.architectures[0]).from_pretrained(setup.checkpoint, config=config).to(device)
    model = compiled(plain)
    trained = [p for p in plain.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, fused=True)

    def prepare(inputs):
        """A step, or where `learns` is false the loss without dropout; with `mixed` in bfloat16 where autocast says so."""
        learns, mixed = bool(inputs.pop("learns")), bool(inputs.pop("mixed"))
        tensors = {name: torch.from_numpy(value).to(device) for name, value in inputs.items()}
        plain.train(learns)

        def loss_of(used):
            with torch.autocast(device, torch.bfloat16, enabled=mixed):
                return used(**tensors).loss

        @torch.inference_mode()
        def evaluate():
            return loss_of(plain).item()

        def step():
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, CLIP)
            optimizer.step()
            return loss.item()

        return step if learns else evaluate

    return prepare
