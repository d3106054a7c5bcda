-- Does an operator's name mark it as part of the backward pass? In MindSpore's names, of all scopes only `Gradients`
-- does.
is_backward_name(name) as
    macros.unscoped_name(name) ilike '%backward%'
    or name ilike 'autograd::engine::%'
    or name ilike '%torch::autograd::%'
    or starts_with(name, 'Gradients/')
    or contains(name, '::Gradients/')
