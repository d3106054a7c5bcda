-- Does an operator's name say that it is one of the backward pass? In MindSpore's names the scope `Gradients` does, and nothing else of a scope.
is_backward_name(name) as
    macros.unscoped_name(name) ilike '%backward%'
    or name ilike 'autograd::engine::%'
    or name ilike '%torch::autograd::%'
    or starts_with(name, 'Gradients/')
    or contains(name, '::Gradients/')
