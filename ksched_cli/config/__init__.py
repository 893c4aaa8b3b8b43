"""KubeSchedulerConfiguration: model, defaults, decoding, validation, and what each minor does differently."""
