-- Does an operator's name say that it is one of the backward pass?
is_backward_name(name) as name ilike '%backward%' or name ilike 'autograd::engine::%' or name ilike '%torch::autograd::%'
